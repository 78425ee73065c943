import Notelog

let password = "correct horse battery staple"
let store = try Store.openOrCreate(at: "birds.notelog", unlocking: .password(password))
print("The store is open.")
