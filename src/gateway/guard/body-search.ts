/** The body of a response, decoded and searched while it comes. */
import { type Coding, Decoder } from './decoder.ts'
import type { Disclosures } from './disclosures.ts'
import { createScan, type Finding } from './scan.ts'

const NOTHING = Buffer.alloc(0)

/** Decoded bytes that are kept to name places in them. */
const KEPT_BYTES = 65_536

interface SearchedBody {
  readonly contentType: string | undefined
  readonly coding: Coding | undefined
}

export class BodySearch {
  readonly #decoder: Decoder | undefined
  readonly #scan: ReturnType<typeof createScan>
  #kept: Buffer[] = []
  #size = 0

  constructor(disclosures: Disclosures, { contentType, coding }: SearchedBody) {
    this.#decoder = coding && new Decoder(coding)
    this.#scan = createScan(disclosures.needles, { contentType, replaces: disclosures.replaces })
  }

  /** What was found, one for each token. */
  get findings(): readonly Finding[] {
    return this.#scan.findings
  }

  /** The decoded body as it came so far; undefined when it is too long to be kept. */
  get decoded(): Buffer | undefined {
    return this.#size > KEPT_BYTES ? undefined : Buffer.concat(this.#kept)
  }

  /** What may be passed on. Rejects with `UnreadableBody`. */
  async write(bytes: Buffer): Promise<Buffer> {
    return this.#search(this.#decoder === undefined ? bytes : await this.#decoder.write(bytes))
  }

  /** The rest, when the body is complete. */
  async end(): Promise<Buffer> {
    const rest = this.#decoder === undefined ? NOTHING : this.#search(await this.#decoder.end())
    return Buffer.concat([rest, this.#scan.end()])
  }

  close(): void {
    this.#decoder?.close()
  }

  #search(bytes: Buffer): Buffer {
    this.#size += bytes.length
    if (this.#size <= KEPT_BYTES) this.#kept.push(bytes)
    else this.#kept = []
    return this.#scan.write(bytes)
  }
}
