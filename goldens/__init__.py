"""The repository's goldens: what its example worlds' own calls come to, blessed as readable files beside this one.

`python -m goldens` checks them, `python -m goldens bless ID --reason TEXT` takes what is found now, `list` shows them.
They are blessed by content: the files say results and reasons, no commits.
"""
