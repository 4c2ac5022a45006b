import type { FastifyError, FastifyReply } from 'fastify'
import { AppError, type CodeResponse, type FieldErrors, type Problem } from '../../common/errors.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** An error of the framework's as one of ours. */
export const fromFramework = (thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown
  const { code, statusCode } = (thrown ?? {}) as Partial<FastifyError>
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('too_large', 'The body is larger than this service accepts. Send less in one call.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError(
        'unsupported_media_type',
        'The content type is not accepted here. Send application/json.',
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'ECONNRESET':
    case 'ECONNABORTED':
      return new AppError('malformed', 'The body ended before its announced length. Send the complete body.')
    case 'FST_ERR_BAD_URL':
      return new AppError(
        'malformed',
        'The path holds a percent sign that encodes nothing. Encode it as %25.',
      )
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('not_found', 'No such route. See /docs.')
    default:
      return statusCode === 400
        ? new AppError('malformed', 'The request cannot be read. Check its headers and body.')
        : AppError.from(thrown)
  }
}

/** Error paths as an HTTP client sees them: those of a whole-body member start inside the body. */
const errorsForBody = (errors: FieldErrors, body: string | undefined): FieldErrors => {
  if (body === undefined) return errors
  return Object.fromEntries(
    Object.entries(errors).map(([path, sentences]) => {
      if (path === body || path === '') return ['body', sentences]
      if (path.startsWith(`${body}.`)) return [path.slice(body.length + 1), sentences]
      if (path.startsWith(`${body}[`)) return [path.slice(body.length), sentences]
      return [path, sentences]
    }),
  )
}

/** Sends what a tenant's code returns in place of a problem (completions §7). */
const sendCodeResponse = (
  reply: FastifyReply,
  { status, headers = {}, body }: CodeResponse,
): FastifyReply => {
  reply.code(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  if (!reply.hasHeader('content-type'))
    reply.type(typeof body === 'string' ? 'text/plain; charset=utf-8' : JSON_TYPE)
  // Node writes the head of a string's response as UTF-8, but its headers may have characters of ISO-8859-1.
  return reply.send(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
}

/** Sends the error body of completions §2 with the headers that belong to it. */
export const sendProblem = (reply: FastifyReply, error: AppError, body?: string): FastifyReply => {
  if (error.response?.body !== undefined) return sendCodeResponse(reply, error.response)
  const problem: Problem = error.toProblem()
  for (const [name, value] of Object.entries(error.response?.headers ?? {})) reply.header(name, value)
  if (error.allow) reply.header('allow', error.allow.join(', '))
  if (error.retryAfter !== undefined) reply.header('retry-after', String(Math.ceil(error.retryAfter)))
  return reply
    .code(problem.status)
    .type(JSON_TYPE)
    .send(
      JSON.stringify(problem.errors ? { ...problem, errors: errorsForBody(problem.errors, body) } : problem),
    )
}
