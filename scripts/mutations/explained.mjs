// Mutations that are not caught, each with the verdict that is expected of it and why that is right.
// name: { verdict: 'survived' | 'endless', why }
export const explained = {}
