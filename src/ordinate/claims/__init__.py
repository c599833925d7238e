"""The ledger: what two course notes say about positions, each statement with a check, a measured value and a verdict."""

from __future__ import annotations

from ordinate.claims.claim import Claim as Claim
from ordinate.claims.claim import Measured as Measured
from ordinate.claims.claim import Note as Note
from ordinate.claims.claim import Text as Text
from ordinate.claims.claim import Verdict as Verdict
from ordinate.claims.ledger import CLAIMS as CLAIMS
from ordinate.claims.ledger import Settled as Settled
from ordinate.claims.ledger import about as about
from ordinate.claims.ledger import find as find
from ordinate.claims.ledger import settle as settle

__all__ = ["CLAIMS", "Claim", "Measured", "Note", "Settled", "Text", "Verdict", "about", "find", "settle"]
