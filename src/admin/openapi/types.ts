import type { PrintedExamples } from './examples.ts'

/** The parts of an OpenAPI 3.1 document that we print (https://spec.openapis.org/oas/v3.1.1.html). */
export interface OpenApi {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

/** Where a member of an operation's input stands. */
interface OpenApiParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly style?: string
  readonly explode?: boolean
  readonly schema: unknown
  readonly examples?: PrintedExamples
}

/** A method of a path. */
export interface OpenApiOperation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: true
  readonly 'x-permission': string
  /** Pages of other origins may call it (completions §20). */
  readonly 'x-cross-origin'?: true
  readonly security?: readonly []
  readonly parameters?: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, unknown>>
}

/** Bodies by content type. */
export type Content = Readonly<
  Record<string, { readonly schema: unknown; readonly examples?: PrintedExamples }>
>
