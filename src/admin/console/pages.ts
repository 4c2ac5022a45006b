import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../common/errors.ts'
import type { OwnRoute } from '../http/types.ts'
import type { ConsoleFile } from './compress.ts'
import { type ConsoleFiles, loadFiles } from './files.ts'
import { INDEX_HEADERS } from './index-page.ts'

const send = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { type, text, compressed }: ConsoleFile,
): Promise<FastifyReply> => {
  const accepted = String(request.headers['accept-encoding'] ?? '')
  const [coding] = /\bbr\b(?!;q=0)/.exec(accepted) ?? /\bgzip\b(?!;q=0)/.exec(accepted) ?? []
  reply.type(type).header('vary', 'accept-encoding')
  if (coding !== 'br' && coding !== 'gzip') return reply.send(text)
  return reply.header('content-encoding', coding).send(await compressed(coding))
}

/**
 * The index at `/console/`, and the files of the pages, which never change under one URL. Read at the first request.
 */
export const pageRoutes = (load = loadFiles): readonly OwnRoute[] => {
  let loading: Promise<ConsoleFiles> | undefined
  const loaded = (): Promise<ConsoleFiles> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
  return [
    {
      path: '/console',
      name: 'console',
      handler: async (request, reply) => send(request, reply.headers(INDEX_HEADERS), (await loaded()).index),
    },
    {
      path: '/console/assets/{hash}/*',
      name: 'console_assets',
      handler: async (request, reply) => {
        const { hash, '*': path = '' } = request.params as { readonly hash: string; readonly '*'?: string }
        const all = await loaded()
        const file = hash === all.hash ? all.files.get(path) : undefined
        if (file === undefined)
          throw new AppError(
            'not_found',
            'The console has no such file. Reload /console/: it may have been updated.',
          )
        reply.headers({
          'cache-control': 'public, max-age=31536000, immutable',
          'cross-origin-resource-policy': 'same-origin',
          'content-security-policy': "default-src 'none'",
        })
        return send(request, reply, file)
      },
    },
  ]
}
