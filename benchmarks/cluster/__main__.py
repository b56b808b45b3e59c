"""`python -m benchmarks.cluster` prints the tables of docs/scale.md, in about ten minutes of a core."""

from benchmarks.cluster.tables import tables

if __name__ == "__main__":
    for table in tables():
        print(table, flush=True)
