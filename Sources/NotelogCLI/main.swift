print("notelog")
