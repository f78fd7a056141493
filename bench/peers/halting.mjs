import * as core from '@halting/core'
import { peersOf } from './halting-ways.mjs'

const [iterated, awaited] = peersOf(core)

export const peers = { 'halting': iterated, 'halting .terminal': awaited }
