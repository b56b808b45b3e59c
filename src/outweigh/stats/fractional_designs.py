"""Regular fractions of a two-level factorial: which combinations are run, and which effects cannot be told apart.

The first factors make a full factorial; each further one is the product of some of them, its generator. A product of
factors that is the same in every arm is a word of the defining relation; the length of its shortest word is the
resolution (G. E. P. Box, W. G. Hunter and J. S. Hunter, Statistics for Experimenters, 1978). Words are sets of factors
as bits.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

from msgspec import Struct

from outweigh.stats.designs import Levels, full_factorial

Effect = tuple[int, ...]
"""The places of the factors whose product it is: one for a main effect, two for an interaction."""
_MOST_TRIED = 30_000
_LARGEST_RELATION = 16


class FractionalDesign(Struct, frozen=True, kw_only=True):
    """A fraction of the factorial of `factors`: `base` of them make its rows, the others follow by `generators`.

    A generator is the set of base factors, as bits, whose product the further factor is.
    """

    factors: int
    base: int
    generators: tuple[int, ...]

    @property
    def arms(self) -> int:
        """How many combinations it has."""
        return 1 << self.base

    def levels(self) -> Levels:
        """Its rows; the last one has all factors."""
        return tuple((*row, *(_product(row, word) for word in self.generators)) for row in full_factorial(self.base))

    def generator(self, place: int) -> Effect:
        """The base factors whose product is the factor at this place, which is no base factor."""
        return _places(self.generators[place - self.base])

    def relation(self) -> tuple[Effect, ...] | None:
        """Every word of the defining relation, the shortest first; None where there are too many to list."""
        if len(self.generators) > _LARGEST_RELATION:
            return None
        words = (word for _, word in _combined(self._words()))
        return tuple(sorted(map(_places, words), key=lambda word: (len(word), word)))

    @property
    def resolution(self) -> int:
        """The length of the shortest word: from 5 on, no main effect or two-way interaction has another in it."""
        columns = [self._column((place,)) for place in range(self.factors)]
        pairs = [one ^ other for one, other in combinations(columns, 2)]
        if any(pair in set(columns) for pair in pairs):
            return 3
        if len(set(pairs)) < len(pairs):
            return 4
        return min(len(word) for word in self.relation() or ())

    def aliases(self) -> dict[Effect, tuple[Effect, ...]]:
        """For each main effect and two-way interaction, all other such effects that no arm tells from it."""
        effects: list[Effect] = [(place,) for place in range(self.factors)]
        effects += combinations(range(self.factors), 2)
        together: dict[int, list[Effect]] = {}
        for effect in effects:
            together.setdefault(self._column(effect), []).append(effect)
        return {effect: tuple(each for each in together[self._column(effect)] if each != effect) for effect in effects}

    def _column(self, effect: Effect) -> int:
        """The product of base factors that an effect is the same as, as bits."""
        whole = 0
        for place in effect:
            whole ^= 1 << place if place < self.base else self.generators[place - self.base]
        return whole

    def _words(self) -> list[int]:
        return [word | 1 << (self.base + number) for number, word in enumerate(self.generators)]


def find_fraction(factors: int, arms: int) -> FractionalDesign:
    """The fraction of this many arms, a power of two, with the highest resolution and the fewest shortest words."""
    base = arms.bit_length() - 1
    if arms != 2**base or not factors < arms < 2**factors:
        raise ValueError(
            f"a fraction for {factors} factors has a power of two of arms, above {factors}, below 2^{factors}"
        )
    words = sorted((word for word in range(2**base) if word.bit_count() > 1), key=lambda each: (each.bit_count(), each))
    wanted = factors - base
    if comb(len(words), wanted) <= _MOST_TRIED:
        chosen = min(combinations(words, wanted), key=lambda each: _aberration(each, base))
    else:
        chosen = next(found for found in _structured(words, wanted) if found is not None)
    return FractionalDesign(factors=factors, base=base, generators=tuple(chosen))


def smallest_fraction(factors: int) -> FractionalDesign:
    """The smallest fraction in which no main effect has a two-way interaction in it; of three factors, the half."""
    arms = 4
    while arms < 2 * factors and arms < 2 ** (factors - 1):
        arms *= 2
    return find_fraction(factors, arms)


def _aberration(generators: Sequence[int], base: int) -> tuple[int, ...]:
    """How many words there are of each length, from the shortest: the smaller, the better."""
    lengths = [0] * (base + len(generators) + 1)
    for _, word in _combined([word | 1 << (base + number) for number, word in enumerate(generators)]):
        lengths[word.bit_count()] += 1
    return tuple(lengths)


def _structured(words: Sequence[int], wanted: int) -> Iterator[tuple[int, ...] | None]:
    """Generators for many factors: of resolution 6 or 5 where a greedy choice finds them, else 4, else 3."""
    for resolution in (6, 5):
        yield _greedy(words, wanted, resolution)
    odd = tuple(word for word in words if word.bit_count() % 2)  # products of odd words are of even length, at least 4
    yield odd[:wanted] if len(odd) >= wanted else None
    yield tuple(words[:wanted])


def _greedy(words: Sequence[int], wanted: int, resolution: int) -> tuple[int, ...] | None:
    chosen: list[int] = []
    sums = [(0, 0)]
    for word in words:
        longer = [(count + 1, known ^ word) for count, known in sums]
        if all(count + known.bit_count() >= resolution for count, known in longer):
            chosen.append(word)
            sums += longer
        if len(chosen) == wanted:
            return tuple(chosen)
        if len(sums) > 2**_LARGEST_RELATION:
            break
    return None


def _combined(words: Sequence[int]) -> list[tuple[int, int]]:
    """Every product of some of the words, with how many they are."""
    found = [(0, 0)]
    for word in words:
        found += [(count + 1, known ^ word) for count, known in found]
    return found[1:]


def _places(word: int) -> Effect:
    return tuple(place for place in range(word.bit_length()) if word >> place & 1)


def _product(row: Sequence[bool], word: int) -> bool:
    return sum(not row[place] for place in _places(word)) % 2 == 0
