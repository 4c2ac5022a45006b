import { type Automaton, addNeedle, createAutomaton, link } from './automaton.ts'
import { type Form, type FormKind, formsOf } from './forms.ts'

/** A value that a request took out of the vault. */
interface Disclosure {
  readonly tokenId: string
  /** What stands in the place of the value in responses. */
  readonly expression: string
  readonly value: string
  readonly isEgressOnly: boolean
}

/** One form of a value. */
export interface Needle {
  readonly kind: FormKind
  readonly length: number
  readonly source: { disclosure: Disclosure }
}

/** A search for needles: those that were added since the last call, and all others. */
class Index {
  #automaton: Automaton<Needle> | undefined
  #waiting: { readonly form: Form; readonly source: Needle['source'] }[] = []

  add(forms: readonly Form[], source: Needle['source']): void {
    for (const form of forms) this.#waiting.push({ form, source })
  }

  /** Undefined without needles. */
  get automaton(): Automaton<Needle> | undefined {
    if (this.#waiting.length === 0) return this.#automaton
    this.#automaton ??= createAutomaton(
      1 + this.#waiting.reduce((sum, { form }) => sum + form.bytes.length, 0),
    )
    for (const { form, source } of this.#waiting)
      addNeedle(this.#automaton, form.bytes, { kind: form.kind, length: form.bytes.length, source })
    this.#waiting = []
    link(this.#automaton)
    return this.#automaton
  }
}

const MAX_VALUES = 1_000

/** Bytes of all forms: some 13 for each character of a value, and 21 of memory for each of them. */
const MAX_BYTES = 1_048_576

/** The fewest bytes of forms that a character has. */
const MIN_EXPANSION = 9

const MIN_CHARACTERS = 8
const MIN_DIGITS = 6

/** Whether a value is looked for anywhere; a shorter one would be found where it is not. */
const isLong = (value: string): boolean =>
  (value.length >= MIN_CHARACTERS && /\S/.test(value)) ||
  (/^-?\d+(?:\.\d+)?$/.test(value) && value.replace(/\D/g, '').length >= MIN_DIGITS)

/**
 * The values that one call must not get back. It may grow while a response is scanned; what was added counts from the
 * next piece on.
 */
export class NeedleSet {
  readonly #sources = new Map<string, Needle['source']>()
  readonly #values = new Index()
  readonly #fields = new Index()
  #bytes = 0
  #isExceeded = false

  /** An ordinary value that is short adds nothing; of equal values the first counts, or the first `egress_only` one. */
  add(disclosure: Disclosure): void {
    const { value, isEgressOnly } = disclosure
    const known = this.#sources.get(value)
    if (known !== undefined) {
      if (isEgressOnly && !known.disclosure.isEgressOnly) known.disclosure = disclosure
      return
    }
    const isWhole = !isLong(value)
    if (value === '' || (isWhole && !isEgressOnly) || this.#isExceeded) return
    const least = this.#bytes + MIN_EXPANSION * value.length
    const forms = this.#sources.size < MAX_VALUES && least <= MAX_BYTES ? formsOf(value, !isWhole) : []
    const bytes = forms.reduce((sum, form) => sum + form.bytes.length, this.#bytes)
    if (forms.length === 0 || bytes > MAX_BYTES) {
      this.#isExceeded = true
      return
    }
    this.#bytes = bytes
    const source = { disclosure }
    this.#sources.set(value, source)
    ;(isWhole ? this.#fields : this.#values).add(forms, source)
  }

  get isEmpty(): boolean {
    return this.#sources.size === 0
  }

  /** A value could not be added, since the values are too many or too long. */
  get isExceeded(): boolean {
    return this.#isExceeded
  }

  /** Values that count anywhere. */
  get values(): Automaton<Needle> | undefined {
    return this.#values.automaton
  }

  /** Short values, which count as a whole field only. */
  get fields(): Automaton<Needle> | undefined {
    return this.#fields.automaton
  }
}
