"""Parts of the tracker: channels of windows, the verifier and the displacement experts."""
