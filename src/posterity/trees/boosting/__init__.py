"""Steps that are added one at a time: LogitBoost."""
