// The name of the bucket at the broker that says who has which labware.

export const custodyBucket = 'bd_custody'
