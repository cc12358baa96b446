"""A linear program under construction, and a lower bound of its optimum that does not rest on the solver."""
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

MANY = 5000  # variables, from which on interior points are faster than the simplex method


class LinearProgram:
    """Minimises the sum of cost * variable for 0 <= variable <= upper. Terms are pairs (variable, coefficient)."""

    def __init__(self):
        self.cost, self.upper = [], []
        self.at_most_rows, self.equal_rows = ([], []), ([], [])  # entries (row, variable, coefficient), right sides

    def variable(self, upper, cost=0.0):
        self.cost.append(cost)
        self.upper.append(upper)
        return len(self.cost) - 1

    def at_most(self, terms, right):
        self._row(self.at_most_rows, terms, right)

    def equal(self, terms, right):
        self._row(self.equal_rows, terms, right)

    def minimum(self):
        """A bound that no solution is below, up to rounding in double precision: b y + sum of min(0, (c - A' y) upper)
        is one for any multipliers y >= 0 of the rows (weak duality). The solver's make it equal to the optimum."""
        a, a_right = self._matrix(self.at_most_rows)
        e, e_right = self._matrix(self.equal_rows)
        cost, upper = np.array(self.cost), np.array(self.upper)
        found = linprog(cost, a, a_right, e, e_right, np.stack([np.zeros_like(upper), upper], 1),
                        method="highs-ipm" if len(cost) > MANY else "highs-ds")
        if found.status == 2:
            raise ValueError("no schedule fits into the budget")
        if found.status:
            raise RuntimeError(found.message)
        y, z = np.minimum(found.ineqlin.marginals, 0), found.eqlin.marginals
        reduced = cost - a.T @ y - e.T @ z
        return float(a_right @ y + e_right @ z + np.minimum(reduced, 0) @ upper)

    @staticmethod
    def _row(rows, terms, right):
        entries, rights = rows
        entries += [(len(rights), variable, coefficient) for variable, coefficient in terms]
        rights.append(right)

    def _matrix(self, rows):
        entries, rights = rows
        row, column, value = zip(*entries) if entries else ((), (), ())
        return coo_array((value, (row, column)), shape=(len(rights), len(self.cost))).tocsr(), np.array(rights)
