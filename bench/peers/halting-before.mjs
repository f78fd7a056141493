import { pathToFileURL } from 'node:url'
import { peersOf } from './halting-ways.mjs'

const core = await import(pathToFileURL(`${process.env.HALTING_BENCH_BEFORE}/packages/core/dist/index.js`).href)
const [iterated, awaited] = peersOf(core)

export const peers = { 'halting before': iterated, 'halting before .terminal': awaited }
