import { describe, test } from 'vitest'
import { columns } from './support/features/columns.ts'
import { ownServices } from './support/features/own-services.ts'
import { scenarios } from './support/features/scenarios.ts'

// Holds rules of docs/spec.md: R-TABLE-1, R-TABLE-2. What each service can do through our own adapters, as whole runs of `query`.

describe.each(ownServices.map((service) => [service.title, service] as const))('%s', (_title, service) => {
  for (const column of columns) {
    const cell = service.cells[column]
    if (typeof cell === 'string') test(column, () => scenarios[column](service, cell))
  }
})
