"""The press: how the manuscript becomes five outputs.

Data flows one way. The manuscript is loaded and its macros resolved into
editions; each renderer prints the editions into a staging folder; what was
printed is read back and compared; gates judge the whole; only then is the
staging folder published.
"""
