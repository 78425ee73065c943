// A cipher as OpenSSL's provider implements it: provider-cipher(7), and decision 0053.

import COpenSSL

/// The functions of a cipher's implementation, which EVP would call.
///
/// Whenever a message starts, OpenSSL 3.0's EVP asks the implementation how long the cipher's IV is, by name
/// and out of a dozen names. With what else it checks, that is two thirds of what the cipher itself takes for
/// a short value. We know all of it, so we call what EVP calls.
///
/// Which implementation it is, is EVP's business still: what the process's configuration says of providers
/// holds here too. EVP itself serves under the same interface where the provider's functions can't be used:
/// ``evp(_:)``.
// SAFETY: @unchecked because the provider may be called from any thread, which EVP does too; nothing here
// changes.
@safe struct CipherFunctions: @unchecked Sendable {
  /// Begins a message: context, key and its length, IV and its length, parameters.
  typealias Start =
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int, UnsafePointer<UInt8>?, Int,
      UnsafePointer<OSSL_PARAM>?
    ) -> Int32
  /// Takes bytes in: context, where to put what comes out, how much that is, room for it, bytes and their
  /// length.
  typealias Update =
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?, Int,
      UnsafePointer<UInt8>?, Int
    ) -> Int32
  /// Ends a message: context, where to put what comes out, how much that is, room for it.
  typealias Finish =
    @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?, Int)
    -> Int32

  var startSealing: Start
  var startOpening: Start
  var update: Update
  var finish: Finish
  var getParameters: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<OSSL_PARAM>?) -> Int32
  let freeContext: @convention(c) (UnsafeMutableRawPointer?) -> Void
  private let makeContext: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  // SAFETY: the provider's own context, which it takes from any thread, or EVP's cipher, which nothing
  // changes. The cipher is never freed, and keeps the provider loaded.
  private let origin: UnsafeMutableRawPointer?

  /// A context, to be freed with ``freeContext``, which cleanses it; nothing where there is no memory.
  // SAFETY: the origin is the one that the function came with.
  func newContext() -> UnsafeMutableRawPointer? { unsafe makeContext(origin) }
}

extension CipherFunctions {
  /// EVP's own functions for a cipher: slower, and right whatever the provider's are like.
  // SAFETY: each context is one that EVP made; lengths of key and IV are the cipher's, which EVP knows; no
  // message has more bytes than an Int32 counts.
  static func evp(_ cipher: OpaquePointer?) -> CipherFunctions {
    unsafe CipherFunctions(
      startSealing: { context, key, _, vector, _, parameters in
        unsafe EVP_EncryptInit_ex2(OpaquePointer(context), nil, key, vector, parameters)
      },
      startOpening: { context, key, _, vector, _, parameters in
        unsafe EVP_DecryptInit_ex2(OpaquePointer(context), nil, key, vector, parameters)
      },
      update: { context, target, _, _, bytes, count in
        var written: Int32 = 0
        return unsafe EVP_CipherUpdate(OpaquePointer(context), target, &written, bytes, Int32(count))
      },
      finish: { context, target, _, _ in
        var written: Int32 = 0
        return unsafe EVP_CipherFinal_ex(OpaquePointer(context), target, &written)
      }, getParameters: { unsafe EVP_CIPHER_CTX_get_params(OpaquePointer($0), $1) },
      freeContext: { unsafe EVP_CIPHER_CTX_free(OpaquePointer($0)) },
      makeContext: { cipher in
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        // Given later, the cipher would take the key of the message before away.
        if unsafe EVP_EncryptInit_ex2(context, OpaquePointer(cipher), nil, nil, nil) == 1 {
          return unsafe UnsafeMutableRawPointer(context)
        }
        unsafe EVP_CIPHER_CTX_free(context)
        return nil
      }, origin: UnsafeMutableRawPointer(cipher))
  }

  /// What implements a cipher; nothing where that can't be told.
  init?(of cipher: OpaquePointer?) {
    // SAFETY: the cipher was fetched and is kept; what its provider lists is read until it is told that we
    // have read it.
    guard let cipher = unsafe cipher, let provider = unsafe EVP_CIPHER_get0_provider(cipher) else {
      return nil
    }
    var isVolatile: Int32 = 0
    guard var algorithm = unsafe OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &isVolatile) else {
      return nil
    }
    let algorithms = unsafe algorithm
    defer { unsafe OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, algorithms) }
    var found: UnsafePointer<OSSL_DISPATCH>?
    while let names = unsafe algorithm.pointee.algorithm_names {
      if unsafe String(cString: names).split(separator: ":").contains(where: {
        unsafe EVP_CIPHER_is_a(cipher, String($0)) == 1
      }) {
        // Of two implementations, only EVP knows which one it took.
        guard unsafe found == nil else { return nil }
        unsafe found = unsafe algorithm.pointee.implementation
      }
      unsafe algorithm += 1
    }
    guard let found = unsafe found else { return nil }
    // SAFETY: a list of functions, ended by one without a number.
    unsafe self.init(found, origin: OSSL_PROVIDER_get0_provider_ctx(provider))
  }

  /// The functions of a list; nothing where one is missing.
  private init?(_ list: UnsafePointer<OSSL_DISPATCH>, origin: UnsafeMutableRawPointer?) {
    // SAFETY: the list ends with a number of 0; each entry is read as what its number says it is.
    func find<Function>(_ number: Int32, _ read: (UnsafePointer<OSSL_DISPATCH>) -> Function?) -> Function? {
      var entry = unsafe list
      while unsafe entry.pointee.function_id != 0 {
        if unsafe entry.pointee.function_id == number { return unsafe read(entry) }
        unsafe entry += 1
      }
      return nil
    }
    guard let makeContext = unsafe find(OSSL_FUNC_CIPHER_NEWCTX, OSSL_FUNC_cipher_newctx),
      let freeContext = unsafe find(OSSL_FUNC_CIPHER_FREECTX, OSSL_FUNC_cipher_freectx),
      let startSealing = unsafe find(OSSL_FUNC_CIPHER_ENCRYPT_INIT, OSSL_FUNC_cipher_encrypt_init),
      let startOpening = unsafe find(OSSL_FUNC_CIPHER_DECRYPT_INIT, OSSL_FUNC_cipher_decrypt_init),
      let update = unsafe find(OSSL_FUNC_CIPHER_UPDATE, OSSL_FUNC_cipher_update),
      let finish = unsafe find(OSSL_FUNC_CIPHER_FINAL, OSSL_FUNC_cipher_final),
      let getParameters = unsafe find(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, OSSL_FUNC_cipher_get_ctx_params)
    else { return nil }
    unsafe self.init(
      startSealing: startSealing, startOpening: startOpening, update: update, finish: finish,
      getParameters: getParameters, freeContext: freeContext, makeContext: makeContext, origin: origin)
  }
}
