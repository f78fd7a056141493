// examples/certificate.mjs
import { certificate } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel([], { contextWindow: 100_000, maxOutputTokens: 8_000 })
const bounds = certificate({ model, maxTurns: 10, maxTotalTokens: 500_000 })
for (const [name, bound] of Object.entries(bounds)) {
  if (bound.because !== undefined)
    console.log(`${name}: ${bound.bounded ? bound.value : 'no bound'} (${bound.because})`)
}
console.log(`halts: ${bounds.halts}; without a limit on turns: ${certificate({ model, maxTurns: Infinity }).halts}`)
