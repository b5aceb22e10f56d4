module documents.example

go 1.23

require magistrate.example/clients/go v0.1.0

replace magistrate.example/clients/go => ../../clients/go
