import { holds } from '#kit'
import { AppError, type Call, type Caller, isObject, type Json, type PluginContext, type Program } from '#sdk'
import { castArguments, castConfiguration } from './coerce.ts'
import { Formulas, type ReactorRecord, Reactors } from './collections.ts'
import { reactorNotFound } from './not-found.ts'

/** Result of an invocation. */
interface Result {
  readonly tokens?: Json
  readonly raw?: Json
}

/** An invocation whose arguments and configuration are ready for the code. */
export interface Prepared {
  readonly reactor: ReactorRecord
  readonly code: string
  readonly argument: { readonly args: Json; readonly configuration: Readonly<Record<string, unknown>> }
}

/** The caller of a run, and its timeout. */
interface RunOptions extends Pick<Call, 'caller' | 'traceId' | 'signal' | 'depth' | 'used' | 'code'> {
  readonly wallMs: number | undefined
}

/** Name of a reactor's code in error messages. */
const NAME = 'reactor'

/** Runs reactors (completions §8). */
export const createReact = (context: PluginContext) => {
  const formulaOf = async (tenantId: string, { formula_id: id }: ReactorRecord) =>
    id === undefined ? undefined : context.records(Formulas).get(tenantId, id)

  /** Under whose grants a result is tokenized: the caller's, or else those of the reactor's application. */
  const tokenizer = async (caller: Caller, { application_id: id }: ReactorRecord): Promise<Caller> => {
    return id === undefined || holds(caller, 'token:create')
      ? caller
      : context.identify({ tenantId: caller.tenantId, id })
  }

  return {
    /** The code of the newest reactors of all tenants. */
    programs: async (limit: number): Promise<readonly Program[]> => {
      const newest = await context.records(Reactors).newest(limit)
      const programs = await Promise.all(
        newest.map(async ({ tenantId, record }) => {
          const code = record.code ?? (await formulaOf(tenantId, record))?.code
          return code === undefined ? [] : [{ tenantId, name: NAME, code }]
        }),
      )
      return programs.flat()
    },

    /**
     * Reads reactor and formula, detokenizes the arguments with the caller's `token:use` and converts them to the types
     * that the formula declares. `reactor_not_found`, `invalid`, `invalid_expression`, `forbidden`.
     */
    prepare: async (id: string, args: Json, call: Call): Promise<Prepared> => {
      const { tenantId } = call.caller
      const reactor = await context.records(Reactors).get(tenantId, id)
      if (reactor === undefined) throw reactorNotFound(id)
      const formula = await formulaOf(tenantId, reactor)
      const code = formula?.code ?? reactor.code
      if (code === undefined) throw reactorNotFound(id)
      // As in the request, so that errors name their places there.
      const clear = await context.vault.detokenize({ args }, call, 'token:use')
      return {
        reactor,
        code,
        argument: {
          args: castArguments(formula?.request_parameters ?? [], (clear as { readonly args: Json }).args),
          configuration: castConfiguration(formula?.configuration ?? [], reactor.configuration),
        },
      }
    },

    /**
     * Runs the code and tokenizes its `tokenize`. Throws `code_failed` and the other errors of code (completions §7).
     */
    run: async ({ reactor, code, argument }: Prepared, options: RunOptions): Promise<Result> => {
      const { caller, traceId, signal, depth, used, code: by, wallMs } = options
      const returned = await context.code.run({
        tenantId: caller.tenantId,
        name: NAME,
        code,
        argument: argument as Json,
        applicationId: reactor.application_id,
        traceId,
        signal,
        depth,
        used,
        wallMs,
      })
      if (!isObject(returned))
        throw new AppError(
          'code_failed',
          'The reactor returned no object. Return one with raw, tokenize, or both.',
        )
      const { raw, tokenize } = returned as { readonly raw?: Json; readonly tokenize?: Json }
      const tokens =
        tokenize === undefined || tokenize === null
          ? undefined
          : await context.vault.tokenize(tokenize, {
              caller: await tokenizer(caller, reactor),
              traceId,
              now: context.clock.now(),
              used,
              code: by,
            })
      return { ...(tokens === undefined ? {} : { tokens }), ...(raw === undefined ? {} : { raw }) }
    },
  }
}

export type React = ReturnType<typeof createReact>
