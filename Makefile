# The verbs of ./run, for those who like make.
.PHONY: serve test check bench docs
serve test check bench docs:
	./run $@
