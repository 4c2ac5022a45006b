import type { Static } from 'typebox'
import { CONTAINER_LENGTH, CONTAINER_PATTERN } from '../common/containers.ts'
import type { Json } from '../common/json.ts'
import { Type } from '../common/json-schema.ts'
import { destinationsInput } from './destinations.ts'
import { nullable } from './schemas.ts'

/** Bounds of a token's members (completions §5). Characters are Unicode code points. */
export const TOKEN_LIMITS = {
  id: { minimum: 3, maximum: 400 },
  type: 50,
  expression: 400,
  searchIndexes: 10,
  metadata: { entries: 50, value: 500 },
  /** The rest is checked by the vault: no schema counts them. */
  maskExpressions: 250,
  /** Bytes of the data as JSON text. */
  dataBytes: 1024 * 1024,
  /** Arrays and objects in it: each takes many times the bytes of its text to read and to hold. */
  dataContainers: 50_000,
} as const

const { id, type, expression, searchIndexes, metadata } = TOKEN_LIMITS

/** Characters that an id must not hold: those of expressions, paths and queries, controls and lone surrogates. */
const EXCLUDED = String.raw`#/\\+?[\]|&=%<>{}^\u0000-\u001f\u007f-\u009f\ud800-\udfff`
/** Spaces at the ends of an id would be lost where ids are trimmed. */
const ID = String.raw`[^${EXCLUDED}\s][^${EXCLUDED}]{${id.minimum - 2},${id.maximum - 2}}[^${EXCLUDED}\s]`
const ID_PATTERN = new RegExp(`^${ID}$`, 'u')

/** Whether a text may be the id of a token. */
export const isTokenId = (text: string): boolean => ID_PATTERN.test(text)

const Expression = Type.String({ maxLength: expression })

const Container = Type.String({
  maxLength: CONTAINER_LENGTH,
  pattern: CONTAINER_PATTERN,
  errorMessage: 'must be a path such as /pci/high/ of letters, digits, - and _',
})

const MetadataValue = Type.String({
  maxLength: metadata.value,
  pattern: String.raw`^[^\u0000]*$`,
  errorMessage: 'must not hold NUL',
})

const metadataKeys = {
  propertyNames: {
    pattern: '^[A-Za-z0-9_.-]{1,200}$',
    errorMessage: 'must have keys of 1 to 200 letters, digits and the characters _ . -',
  },
}

/** Members that a create and a PATCH share. */
const shared = {
  mask: Type.Optional(
    Type.Unsafe<Json>({
      type: ['string', 'object', 'null'],
      maxLength: expression,
      field: 4,
      description: `An expression, or an object with at most ${TOKEN_LIMITS.maskExpressions} expressions.`,
    }),
  ),
  search_indexes: nullable(6, Type.Array(Expression, { maxItems: searchIndexes })),
  fingerprint_expression: nullable(7, Type.String({ minLength: 1, maxLength: expression })),
  containers: nullable(8, Type.Array(Container, { maxItems: 1 })),
  deduplicate_token: nullable(9, Type.Boolean()),
  expires_at: nullable(
    10,
    Type.String({ maxLength: 50, description: 'An ISO 8601 date-time in the future.' }),
  ),
  destinations: destinationsInput(11),
  egress_only: nullable(
    12,
    Type.Boolean({ description: 'Only requests of proxies hold the value; others get its mask at most.' }),
  ),
}

/**
 * Body of a create (interface, "Token (request definition)"; completions §5). The vault checks every definition with
 * this schema, and then what depends on the token's type, on the clock and on the expression language.
 */
export const TokenInput = Type.Object({
  id: nullable(
    1,
    Type.String({
      minLength: id.minimum,
      maxLength: id.maximum,
      pattern: String.raw`^${ID}$|\{\{`,
      errorMessage: `must be a string of ${id.minimum} to ${id.maximum} characters without # / \\ + ? [ ] | & = % < > { } ^`,
      description: 'An id, or an alias expression over data. Default: a UUID.',
    }),
  ),
  type: nullable(
    2,
    Type.String({ maxLength: type, description: 'The name of a token type. Default: token.' }),
  ),
  data: Type.Unsafe<Json>({
    field: 3,
    description: `The sensitive value, by the schema of its type. At most ${TOKEN_LIMITS.dataBytes} bytes as JSON.`,
  }),
  metadata: nullable(
    5,
    Type.Record(Type.String(), MetadataValue, { maxProperties: metadata.entries, ...metadataKeys }),
  ),
  ...shared,
})
export type TokenInput = Static<typeof TokenInput>

/** A JSON merge patch (RFC 7386) of a token. The vault checks the merged token with `TokenInput`. */
export const TokenPatch = Type.Object({
  data: Type.Optional(TokenInput.properties.data),
  metadata: nullable(
    5,
    Type.Record(
      Type.String(),
      Type.Unsafe<string | null>({ ...MetadataValue, type: ['string', 'null'] }),
      metadataKeys,
    ),
  ),
  ...shared,
})
/** Absent members stay; `data`, `mask` and `metadata` merge; the others are replaced. */
export type TokenPatch = Static<typeof TokenPatch>
