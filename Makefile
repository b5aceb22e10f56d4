# The verbs of ./run, for those who like make.
.PHONY: serve test check bench
serve test check bench:
	./run $@
