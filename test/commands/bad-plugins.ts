/** Plugins with one issue each, as operators write them, and the report of it. */
export interface BadPlugin {
  readonly name: string
  /** `index.js` of its folder. */
  readonly source: string
  readonly reported: RegExp
}

const SDK = "import { definePlugin, defineOperation, Type } from 'sidevault/sdk'\n"

const plugin = (name: string, contribution: string, before = '') =>
  `${SDK}${before}export const plugin = definePlugin({ api: 1, name: '${name}', version: '1.0.0', setup: () => (${contribution}) })\n`

const operation = (rest: string) => `defineOperation({
  rpc: 'Bad.Get', http: 'GET /bad/{id}', summary: 'Bad', permission: 'any key', audit: 'none',
  input: Type.Object({ id: Type.String({ field: 1 }) }),
  output: Type.Object({ id: Type.String({ field: 1 }), other: Type.String({ field: 2 }) }),
  run: async ({ id }) => ({ id, other: id }), ${rest} })`

const tokenType = (name: string, rest: string) => `{ tokenTypes: [{
  name: '${name}', title: 'Bad', container: '/bad/', writeOnly: ['/pin'],
  data: Type.Object({ number: Type.String(), pin: Type.String() }), ${rest} }] }`

export const BAD_PLUGINS: readonly BadPlugin[] = [
  {
    name: 'bad-api',
    source: "export const plugin = { api: 2, name: 'bad-api', version: '1.0.0', setup: () => ({}) }\n",
    reported:
      /plugin "bad-api": it is written for plugin API 2\. This service speaks api: 1; install a release/,
  },
  {
    name: 'bad-syntax',
    source: 'export const plugin = {\n',
    reported: /"[^"]*bad-syntax": its module cannot be loaded: .* Repair the module/,
  },
  {
    name: 'bad-export',
    source: 'export default {}\n',
    reported: /"[^"]*bad-export": its module exports no "plugin"\. Export it by name/,
  },
  {
    name: 'bad-import',
    source: "import 'nowhere-to-be-found'\n",
    reported:
      /bad-import": its module cannot be loaded: Cannot find package 'nowhere-to-be-found'.* Install it in the plugin's own folder/,
  },
  {
    name: 'bad-throw',
    source: plugin('bad-throw', "(() => { throw new Error('no disk') })()"),
    reported:
      /plugin "bad-throw" › setup: it threw: no disk \(index\.js:\d+\)\. Repair the plugin, or remove it from the list\./,
  },
  {
    name: 'bad-never-settles',
    source: plugin('bad-never-settles', 'new Promise(() => {})'),
    reported:
      /plugin "bad-never-settles" › setup: it did not settle within 10 s\. Return declarations; do work in start/,
  },
  {
    name: 'bad-top-level-await',
    source: 'await new Promise(() => {})\nexport const plugin = {}\n',
    reported:
      /"[^"]*bad-top-level-await": its module did not load within 10 s\. Declare at the top of a module/,
  },
  {
    name: 'bad-route',
    source: plugin(
      'bad-route',
      `{ operations: [${operation("http: 'GET /tokens/{token_id}', input: Type.Object({ token_id: Type.String({ field: 1 }) }), rpc: 'Bad.Route'")}] }`,
    ),
    reported: /route "GET \/tokens\/\{\}": plugin "[a-z-]+" has it too\. Give one another path/,
  },
  {
    name: 'bad-rpc',
    source: plugin(
      'bad-rpc',
      `{ operations: [${operation("rpc: 'Tokens.Create', http: 'GET /bad-rpc/{id}'")}] }`,
    ),
    reported: /operation "Tokens\.Create": plugin "[a-z-]+" has it too\. Rename one/,
  },
  {
    name: 'bad-field',
    source: plugin(
      'bad-field',
      `{ operations: [${operation("rpc: 'Bad.Field', http: 'GET /bad-field/{id}', output: Type.Object({ id: Type.String({ field: 1 }), name: Type.String({ field: 1 }) })")}] }`,
    ),
    reported:
      /operation Bad\.Field › output › name: its field number 1 is already that of "id"\. Give each its own/,
  },
  {
    name: 'bad-mask',
    source: plugin('bad-mask', tokenType('bad_mask', "mask: { all: '{{ data | stringify }}' }")),
    reported:
      /token type "bad_mask" › mask: it shows "\/pin", which must never be returned\. Leave that member out/,
  },
  {
    name: 'bad-never',
    source: plugin(
      'bad-never',
      tokenType('bad_never', 'normalize: (data) => ({ ...data, hint: data.pin.slice(0, 1) })'),
    ),
    reported:
      /token type "bad_never" › normalize: it copies "\/pin", which must never be returned, to another member\./,
  },
  {
    name: 'bad-type',
    source: plugin('bad-type', tokenType('card', '')),
    reported: /token type "card": plugin "[a-z-]+" has it too\. Rename one, or remove its plugin/,
  },
]

export const GOOD_PLUGIN: BadPlugin = {
  name: 'good',
  source: `${SDK}import { writeFileSync } from 'node:fs'
export const plugin = definePlugin({ api: 1, name: 'good', version: '1.0.0',
  setup: () => ({ start: () => writeFileSync(new URL('./started', import.meta.url), '') }) })\n`,
  reported: /good/,
}

/** It blocks its thread, as a loop without end does, at no cost of CPU. */
export const ENDLESS: BadPlugin = {
  name: 'endless',
  source: plugin('endless', '(() => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })()'),
  reported: /plugin "endless" › setup: its code did not return within 12 s\. Look for an endless loop/,
}

export const EXITING: BadPlugin = {
  name: 'exiting',
  source: plugin('exiting', 'process.exit(0)'),
  reported: /plugin \\*"exiting\\*" › setup|ends the process/,
}
