"""How many candidates a version of an arm is corrected for, so that many edits do not make a lucky one.

If you edit a candidate until it is called improved, you stop at the first one that luck favours. To correct the n-th of
them for n candidates, as if all were decided together at the end, is not enough: the errors 1 + 1/2 + 1/3 + … have no
bound. The n-th candidate that was tried is therefore corrected for n² candidates. The errors then add up to less than
1.65 times that of one verdict, 1 + 1/4 + 1/9 + …, however many are tried and wherever you stop. Measured with 10
identical versions they stay below the 2 % that are promised for one (`calibration.version_cells`), because the versions
share the baseline's runs.
"""


def candidates_to_count(place: int) -> int:
    """How many candidates the one at this place is corrected for; places count from 1, in the order of first runs."""
    return place * place
