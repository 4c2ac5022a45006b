/** `events`, the package of that name, with what Node 16 has beside it. */
const EventEmitter: typeof import('node:events').EventEmitter = require('events/events.js')

export const builtin = EventEmitter

Object.assign(EventEmitter, { EventEmitter })
