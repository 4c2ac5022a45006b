import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { root, type SourceFile } from '../kit/sources.ts'

const FOLDERS = ['docs', 'spec', 'envoy', 'examples', 'plugins', 'src', 'test', 'proto', 'bin']

/** Every document in Markdown. */
export const documents: readonly SourceFile[] = [
  ...globSync('*.md', { cwd: root }),
  ...FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.md`, { cwd: root })),
].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

export const withoutFences = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')

/** The files that a path may mean: relative to the folder of what names it, or to the project. */
export const candidates = (from: string, path: string): readonly string[] =>
  [posix.join(dirname(from), path), posix.normalize(path)].filter(
    (each) => !each.startsWith('..') && existsSync(join(root, each)),
  )
