import { exploreShare } from './share.ts'

exploreShare(3, 4)
