import Notelog

let password = "correct horse battery staple"
let store = try Store.openOrCreate(at: "birds.notelog", unlocking: .password(password))
let seen = Sighting(species: "Hoopoe", place: "the old mill, third willow")
try store.write { tx in try tx.put(seen) }
print("Written:", try store.query(Sighting.self).count())
