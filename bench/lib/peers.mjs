// Peers by name. A peer's module is loaded only in the process that measures it: imports cost memory.

const modules = {
  'halting': '../peers/halting.mjs',
  'halting .terminal': '../peers/halting.mjs',
  'pi': '../peers/pi.mjs',
  'pi, no filter': '../peers/pi.mjs',
  'ai generateText': '../peers/ai.mjs',
  'ai streamText': '../peers/ai.mjs',
}

export const peerNames = Object.keys(modules)

/** @param {string} name @returns {Promise<(play: import('./script.mjs').Play) => Promise<import('./script.mjs').Played>>} */
export async function peerOf(name) {
  const { peers } = await import(modules[name])
  return peers[name]
}
