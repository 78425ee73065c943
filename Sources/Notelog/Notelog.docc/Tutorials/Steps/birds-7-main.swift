import Notelog

let password = "correct horse battery staple"
let store = try Store.openOrCreate(at: "birds.notelog", unlocking: .password(password))
let seen = Sighting(species: "Hoopoe", place: "the old mill, third willow")
try store.write { tx in try tx.put(seen) }

let newest = try store.query(Sighting.self).sorted(by: \.time, .descending).limit(10).entries()
for entry in newest {
  print(try entry.species, try entry.place, separator: ": ")
}
