/** Base58 (draft-msporny-base58-03). */
export const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The bytes as a number in base 58, and a `1` for each zero byte at their start. */
export const encodeBase58 = (bytes: Uint8Array): string => {
  const firstOther = bytes.findIndex((byte) => byte !== 0)
  const zeros = firstOther < 0 ? bytes.length : firstOther
  let digits = ''
  for (let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`); rest > 0n; rest /= 58n)
    digits = BASE58.charAt(Number(rest % 58n)) + digits
  return BASE58.charAt(0).repeat(zeros) + digits
}
