"""How the delta of the default encoder is trained."""
