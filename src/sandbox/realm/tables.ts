/** Node's own tables for the realm: JSON texts, by the names in `guest/`. */
import { constants as crypto } from 'node:crypto'
import { METHODS, STATUS_CODES } from 'node:http'
import { constants as zlib } from 'node:zlib'

/** Constants for options; the others concern TLS and the host's OpenSSL. */
const OPTIONS = /^(?:RSA|POINT)_/

const options = Object.fromEntries(Object.entries(crypto).filter(([name]) => OPTIONS.test(name)))

export const TABLES: Readonly<Record<string, string>> = {
  'tables/crypto.json': JSON.stringify(options),
  'tables/http.json': JSON.stringify({ METHODS, STATUS_CODES }),
  'tables/zlib.json': JSON.stringify(zlib),
}
