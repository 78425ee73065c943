import Notelog

print("A record has at most \(Limits.recordBytes) bytes.")
