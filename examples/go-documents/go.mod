module documents.example

go 1.23

require magistrate.example/clients/go v1.0.0

replace magistrate.example/clients/go => ../../clients/go
