package try

// passages are the texts that a visitor types to enroll. Each has more than 110 keys, the least that a session needs.
var passages = []string{
	"The quick answer is rarely the careful one. When a stranger asks me to move money in a hurry, I stop, breathe and read it all again.",
	"My keyboard knows none of my secrets, yet my hands have habits: some letters come fast, others wait, and a few I always get wrong.",
	"Tomorrow I will sit here again with the same coffee and the same ten fingers. If the rhythm is mine, the lock opens without a word.",
}

// typists are the seeds of simulated people whom the stated prior recognises by their first two frames wherever they type, as it does
// most people.
var typists = []uint32{19, 26, 30, 53, 54}

// verdictRate is how often one verdict is given, for the two people who may be typing. A test compares the rates with
// docs/accuracy.md; each column adds up to 100 %.
type verdictRate struct{ Verdict, Own, Other string }

// rates are those of the stated prior from the third frame on, because a visitor may be the first person of a deployment.
var rates = []verdictRate{
	{"likely", "94.8 %", "2.8 %"},
	{"uncertain", "2.4 %", "1.7 %"},
	{"not confirmed", "2.8 %", "95.5 %"},
}

// noticed is how many take-overs are noticed within two frames.
const noticed = "88 %"

var limits = []string{
	"Measured on recordings of 28 people writing essays on several days, in English on QWERTY keyboards. A single sitting gives less evidence than several days.",
	"Measured before anyone has enrolled: then nothing is above likely. Rates improve as a deployment learns from its own people.",
	"All recordings of a person are from the same keyboard. Expect much worse rates on a different one.",
	"An attacker who has recorded the timing of your typing can replay it. Behaviour is one factor; a passkey prevents this attack.",
	"Two people can type alike. If your colleague is taken for you, you have seen a false match.",
}
