import { notFound } from '#kit'
import { AppError } from '#sdk'

export const reactorNotFound = (id: string) => notFound('reactor_not_found', id)

export const formulaNotFound = (id: string) => notFound('formula_not_found', id)

export const resultNotFound = () =>
  new AppError(
    'result_not_found',
    'This request has no result: it is not complete, was read before, has expired, or never existed.',
  )
