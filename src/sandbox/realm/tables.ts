/** What the realm has of Node's own tables: JSON texts, by the names that modules of `inside/` require them by. */
import { constants as crypto } from 'node:crypto'
import { METHODS, STATUS_CODES } from 'node:http'
import { constants as zlib } from 'node:zlib'

/** Those that options are written with; the others are about TLS and the host's own library. */
const OPTIONS = /^(?:RSA|POINT)_/

const options = Object.fromEntries(Object.entries(crypto).filter(([name]) => OPTIONS.test(name)))

export const TABLES: Readonly<Record<string, string>> = {
  'tables/crypto.json': JSON.stringify(options),
  'tables/http.json': JSON.stringify({ METHODS, STATUS_CODES }),
  'tables/zlib.json': JSON.stringify(zlib),
}
