module magistrate.example/clients/go

go 1.23
