import type { Offer } from '@halting/policy'
import { readAgentDefinitions } from '../agents/read-definitions.ts'
import { readPromptFiles } from './prompt-files.ts'
import { promptOffers } from './expand-prompt.ts'
import { readInstructions } from './instruction-files.ts'
import type { BriefingPlaces } from './places.ts'

/**
 * What the instructions, commands, skills and agents of a project would import, run or loosen, for the trust review.
 */
export async function projectFileOffers(options: BriefingPlaces): Promise<readonly Offer[]> {
  const offers = new Map<string, Offer>()
  const trust = {
    lets: async (offer: Offer) => {
      offers.set(offer.id, offer)
      return true
    },
  }
  const projects = { ...options, sources: ['project', 'local'] as const, mayRead: () => true }
  await readInstructions({ ...projects, trust })
  const { all } = await readPromptFiles(projects)
  for (const offer of promptOffers(all)) offers.set(offer.id, offer)
  // Includes the user's agents, because a project may define agents with the same names.
  await readAgentDefinitions({ ...options, sources: undefined, mayRead: () => true, trust })
  return [...offers.values()]
}
