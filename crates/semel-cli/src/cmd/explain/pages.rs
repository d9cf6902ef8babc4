//! The pages of `docs/errors`, carried inside the program so that they are at hand without a network.

macro_rules! pages {
    ($($code:literal),* $(,)?) => {
        &[$(($code, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors/", $code, ".md")))),*]
    };
}

/// Every code and its page, by code.
pub(super) const PAGES: &[(&str, &str)] = pages![
    "SM1001", "SM1002", "SM1003", "SM1004", "SM1005", "SM1006", "SM1007", "SM1008", "SM1009", "SM1010",
    "SM1011", "SM1012", "SM1013", "SM1014", "SM1015", "SM1016", "SM1017", "SM1018", "SM1801", "SM1802",
    "SM1803", "SM1804", "SM1805", "SM1806", "SM1807", "SM1808", "SM1809", "SM1810", "SM1811", "SM1812",
    "SM1813", "SM1821", "SM2001", "SM2002", "SM2003", "SM2004", "SM2005", "SM2006", "SM2007", "SM2008",
    "SM2009", "SM2010", "SM2011", "SM3001", "SM3002", "SM3003", "SM3004", "SM3005", "SM3006", "SM3007",
    "SM3008", "SM3009", "SM3101", "SM3102", "SM3103", "SM3104", "SM3105", "SM3106", "SM3107", "SM4000",
    "SM4001", "SM4002", "SM4003", "SM4004", "SM4005", "SM4006", "SM4007", "SM4008", "SM4009", "SM4010",
    "SM4011", "SM4012", "SM4101", "SM4102", "SM4103", "SM4104", "SM4105", "SM4106", "SM4107", "SM4108",
    "SM4109", "SM4110", "SM4111", "SM4112", "SM4113", "SM4114", "SM4115", "SM4116", "SM4117", "SM4118",
    "SM4119", "SM4120", "SM4121", "SM4122", "SM4123", "SM4124", "SM4125", "SM4130", "SM4131", "SM4132",
    "SM4133", "SM4134", "SM4135", "SM4136", "SM4137", "SM4201", "SM4202", "SM4203", "SM4204", "SM4205",
    "SM4206", "SM4207", "SM4208", "SM4209", "SM4210", "SM4301", "SM4302", "SM4303", "SM4304", "SM4305",
    "SM4306", "SM4307", "SM4308", "SM4309", "SM4310", "SM4311", "SM4312", "SM4313", "SM4314", "SM4315",
    "SM4316", "SM4317", "SM4318", "SM4401", "SM4402", "SM4403", "SM4404", "SM4405", "SM4406", "SM4407",
    "SM6001", "SM6002", "SM6003", "SM6004", "SM6005", "SM6006", "SM9001", "SM9002", "SM9003",
];
