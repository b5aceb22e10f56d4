package magistrate

// Version is the version of this module. It equals that of the service it was released with; any client works with any
// service of the same major version.
const Version = "1.0.0"
