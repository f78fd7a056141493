// Peers by name. A peer's module is loaded only in the process that measures it: imports cost memory.

import { resolve } from 'node:path'
import { textOf } from './measure.mjs'

const modules = {
  'halting': '../peers/halting.mjs',
  'halting .terminal': '../peers/halting.mjs',
  'halting before': '../peers/halting-before.mjs',
  'halting before .terminal': '../peers/halting-before.mjs',
  'pi': '../peers/pi.mjs',
  'pi, no filter': '../peers/pi.mjs',
  'ai generateText': '../peers/ai.mjs',
  'ai streamText': '../peers/ai.mjs',
}

/** `--before=FOLDER` adds the core of another checkout that was built. `--only=NAME,NAME` leaves the others out; pi is always measured. */
const before = textOf('before', '')
if (before !== '') process.env.HALTING_BENCH_BEFORE = resolve(before)
const only = textOf('only', '').split(',').filter(Boolean)

export const peerNames = Object.keys(modules).filter((name) => {
  if (name.includes('before') && before === '') return false
  return only.length === 0 || name === 'pi' || only.includes(name)
})

/** @param {string} name @returns {Promise<(play: import('./script.mjs').Play) => Promise<import('./script.mjs').Played>>} */
export async function peerOf(name) {
  const { peers } = await import(modules[name])
  return peers[name]
}
