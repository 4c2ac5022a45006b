/** `events`: the npm package with the additions of Node 16. */
const EventEmitter: typeof import('node:events').EventEmitter = require('events/events.js')

export const builtin = EventEmitter

Object.assign(EventEmitter, { EventEmitter })
